import { useState } from 'preact/hooks';
import { useApp } from './app';
import { errorText, isRefusedToken } from '../api/errors';

export function Login({ refused }: { refused: boolean }) {
  const { clients, setToken } = useApp();
  const [text, setText] = useState('');
  const [error, setError] = useState(refused ? 'The daemon refused this token.' : '');
  const [busy, setBusy] = useState(false);

  const submit = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '' || busy) return;
    setBusy(true);
    try {
      await clients.system.getInfo({}, { headers: { authorization: `Bearer ${text.trim()}` } });
      setToken(text.trim());
    } catch (e) {
      setError(isRefusedToken(e) ? 'The daemon refused this token.' : errorText(e));
      setBusy(false);
    }
  };

  return (
    <main class="login">
      <form onSubmit={submit}>
        <h1>ddpd</h1>
        <p>
          This daemon wants its token. <code>ddpctl dashboard</code> opens this page with it; it also lies in the file{' '}
          <code>token</code> of the daemon's home.
        </p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={text}
          aria-invalid={error !== ''}
          aria-describedby="token-error"
          onInput={(e) => setText(e.currentTarget.value)}
          autofocus
        />
        <p id="token-error" class="error-text" role="alert">
          {error}
        </p>
        <button class="primary" type="submit" disabled={busy}>
          {busy ? 'Asking the daemon…' : 'Log in'}
        </button>
      </form>
    </main>
  );
}
