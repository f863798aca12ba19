// A form over every field of a JobSpec. The daemon checks while one types, with the same words as at the command line.
import { useEffect, useRef, useState } from 'preact/hooks';
import { errorText, violations } from '../api/errors';
import { hasEnded, jobTitle } from '../model/job_view';
import { parseSpec, SPEC_FIELDS, specValues, type SpecField } from '../model/spec_fields';
import { useApp } from '../ui/app';
import { notify } from '../ui/notices';
import { go, href } from '../ui/router';
import { useStore } from '../ui/use_store';
import { useTitle } from '../ui/use_title';

const CHECK_AFTER_MS = 500;

// What most people set, in the order in which they think of it; all else is folded away.
const MAIN = [
  'name',
  'tags',
  'training.mode',
  'training.data.source',
  'training.data.text_column',
  'training.data.feature_columns',
  'training.data.label_column',
  'training.data.limit',
  'training.model.name',
  'training.init_from',
  'training.epochs',
  'training.max_steps',
  'training.batch_size',
  'training.lr',
  'resources.nproc',
];
const MAIN_FIELDS = MAIN.map((path) => SPEC_FIELDS.find((f) => f.path === path)!);
const GROUPS: [title: string, fields: SpecField[]][] = [
  ['Data', fieldsOf((p) => p.startsWith('training.data.'))],
  ['Model', fieldsOf((p) => p.startsWith('training.model.'))],
  ['Training', fieldsOf((p) => p.startsWith('training.') && !/^training\.(data|model)\./.test(p))],
  ['Job and resources', fieldsOf((p) => !p.startsWith('training.'))],
];

function fieldsOf(wanted: (path: string) => boolean): SpecField[] {
  return SPEC_FIELDS.filter((f) => wanted(f.path) && !MAIN.includes(f.path));
}

const LABELS: Record<string, string> = {
  'training.data.source': 'data',
  'training.data.limit': 'limit of training samples',
  'training.model.name': 'model',
  'training.init_from': 'start from',
  'training.lr': 'learning rate',
  'resources.nproc': 'ranks',
};

// "training.data.label_column" -> "label column"
function labelOf(path: string): string {
  return LABELS[path] ?? path.split('.').at(-1)!.replaceAll('_', ' ');
}

function requestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');
}

export function SubmitPage({ params }: { params: URLSearchParams }) {
  const { clients, jobs } = useApp();
  const all = useStore(jobs.state).jobs;
  const from = params.get('from') ?? '';
  const original = all.get(from);
  useTitle('Submit');
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map([['training.mode', 'pretrain']]));
  const [filled, setFilled] = useState(from === '');
  const [errors, setErrors] = useState<ReadonlyMap<string, string>>(new Map());
  const [defaults, setDefaults] = useState<ReadonlyMap<string, string>>(new Map());
  const [general, setGeneral] = useState('');
  const [notices, setNotices] = useState<readonly string[]>([]);
  const [busy, setBusy] = useState(false);
  const request = useRef(requestId());
  const form = useRef<HTMLFormElement>(null);

  // A copy of an earlier job, once it is known.
  useEffect(() => {
    if (filled || !original) return;
    setValues(specValues(original.spec));
    setFilled(true);
  }, [filled, original]);

  // Changed: checked soon, by the daemon.
  useEffect(() => {
    let current = true;
    request.current = requestId();
    const timer = setTimeout(async () => {
      const { spec, errors: unreadable } = parseSpec(values);
      try {
        const answer = await clients.jobs.submit({ spec, validateOnly: true });
        if (!current) return;
        setErrors(unreadable);
        setGeneral('');
        setNotices(answer.notices);
        setDefaults(specValues(answer.job?.spec));
      } catch (e) {
        if (!current) return;
        const found = violations(e);
        setErrors(new Map([...found, ...unreadable]));
        setGeneral(found.size === 0 ? errorText(e) : '');
        setNotices([]);
      }
    }, CHECK_AFTER_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [values, clients]);

  const submit = async (event: Event) => {
    event.preventDefault();
    const { spec, errors: unreadable } = parseSpec(values);
    setErrors(unreadable);
    if (unreadable.size > 0) {
      showFirst();
      return;
    }
    setBusy(true);
    try {
      const answer = await clients.jobs.submit({ spec, requestId: request.current });
      for (const notice of answer.notices) notify('ok', notice);
      notify('ok', `${jobTitle(answer.job!)} is submitted.`);
      go(href(['jobs', answer.job!.id]));
    } catch (e) {
      const found = violations(e);
      setErrors(found);
      setGeneral(found.size === 0 ? errorText(e) : '');
      setBusy(false);
      showFirst();
    }
  };
  const showFirst = () => setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), 0);
  const set = (path: string, text: string) => setValues(new Map([...values, [path, text]]));
  const known = new Set(SPEC_FIELDS.map((f) => f.path));
  const elsewhere = [...errors].filter(([path]) => !known.has(path));

  const field = (f: SpecField) => (
    <Field
      key={f.path}
      field={f}
      value={values.get(f.path) ?? ''}
      standard={defaults.get(f.path) ?? ''}
      error={errors.get(f.path) ?? ''}
      suggestions={f.path === 'training.init_from' ? [...all.values()].filter((j) => hasEnded(j.state)).map((j) => j.id) : []}
      set={set}
    />
  );
  return (
    <form class="submit" ref={form} onSubmit={submit} noValidate>
      <div class="bar">
        <h1>{original ? `Submit a copy of ${jobTitle(original)}` : 'Submit a job'}</h1>
      </div>
      <div class="card fields">{MAIN_FIELDS.map(field)}</div>
      {GROUPS.map(([title, fields]) => {
        const changed = fields.filter((f) => (values.get(f.path) ?? '') !== '').length;
        const wrong = fields.some((f) => errors.has(f.path));
        return (
          <details key={title} class="card more" open={wrong || undefined}>
            <summary>
              {title} <span class="muted">{changed > 0 ? `${changed} set` : 'defaults'}</span>
            </summary>
            <div class="fields">{fields.map(field)}</div>
          </details>
        );
      })}
      <div role="alert">
        {general !== '' && <p class="error-text">{general}</p>}
        {elsewhere.map(([path, text]) => (
          <p key={path} class="error-text">
            <span class="mono">{path}</span>: {text}
          </p>
        ))}
      </div>
      {notices.map((notice) => (
        <p key={notice} class="muted">
          {notice}
        </p>
      ))}
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Submitting…' : 'Submit'}
        </button>
      </div>
    </form>
  );
}

function Field(props: { field: SpecField; value: string; standard: string; error: string; suggestions: readonly string[]; set: (path: string, text: string) => void }) {
  const { field, value, standard, error, suggestions, set } = props;
  const id = `field-${field.path}`;
  const common = { id, 'aria-invalid': error !== '', 'aria-describedby': error === '' ? undefined : `${id}-error`, spellcheck: false };
  const changed = (event: Event) => set(field.path, (event.currentTarget as HTMLInputElement).value);
  const rows = field.kind === 'map' || field.path === 'training.reinit' || field.path === 'training.freeze';
  return (
    <div class="field">
      <label for={id} title={field.path}>
        {labelOf(field.path)}
      </label>
      {field.kind === 'choice' || field.kind === 'bool' ? (
        <select {...common} value={value} onChange={changed}>
          <option value="">{standard === '' ? 'default' : `${standard} (default)`}</option>
          {(field.kind === 'bool' ? ['true', 'false'] : field.choices).map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : rows ? (
        <textarea {...common} rows={2} placeholder={standard || (field.kind === 'map' ? 'name=value' : 'one a line')} value={value} onInput={changed} />
      ) : (
        <input
          {...common}
          inputMode={field.kind === 'number' ? 'decimal' : undefined}
          placeholder={standard.replaceAll('\n', ', ')}
          list={suggestions.length > 0 ? `${id}-list` : undefined}
          value={field.kind === 'list' ? value.replaceAll('\n', ', ') : value}
          onInput={changed}
        />
      )}
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>
          {suggestions.map((s) => (
            <option key={s} value={s} />
          ))}
        </datalist>
      )}
      {error !== '' && (
        <p id={`${id}-error`} class="error-text">
          {error}
        </p>
      )}
    </div>
  );
}
