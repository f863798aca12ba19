import { useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import { JobState, type Job } from '../gen/ddp/v1/job_pb';
import { hasEnded, jobTitle, mayCancel, mayPause, mayResume, stateName } from '../model/job_view';
import { useApp } from '../ui/app';
import { Dialog } from '../ui/dialog';
import { notify } from '../ui/notices';
import { go, href } from '../ui/router';

type Verb = 'cancel' | 'pause' | 'resume' | 'delete';

const TEXTS: Record<Verb, { title: string; text: string; button: string }> = {
  cancel: { title: 'Cancel this job?', text: 'It stops at the next step and saves, so that it can be resumed from there.', button: 'Cancel the job' },
  pause: { title: 'Pause this job?', text: 'It stops at the next step, saves, and frees its slots until it is resumed.', button: 'Pause the job' },
  resume: { title: 'Resume this job?', text: 'It goes on from its newest good checkpoint, as soon as slots are free.', button: 'Resume the job' },
  delete: { title: 'Delete this job?', text: 'Its metrics, logs and checkpoints are deleted, too. This cannot be undone.', button: 'Delete the job' },
};

export function JobButtons({ job }: { job: Job }) {
  const [asked, setAsked] = useState<Verb | undefined>(undefined);
  const button = (verb: Verb, name: string, kind = '') => (
    <button class={kind} onClick={() => setAsked(verb)}>
      {name}
    </button>
  );
  const imported = job.spec?.workload.case === 'imported';
  return (
    <div class="job-buttons">
      {mayPause(job.state) && button('pause', 'Pause')}
      {mayResume(job.state) && button('resume', 'Resume', 'primary')}
      {mayCancel(job.state) && button('cancel', 'Cancel', 'danger')}
      {!imported && (
        <a class="button" href={href(['submit'], new URLSearchParams({ from: job.id }))}>
          Clone
        </a>
      )}
      {hasEnded(job.state) && job.state !== JobState.PAUSED && button('delete', 'Delete', 'danger')}
      {asked && <Confirm job={job} verb={asked} close={() => setAsked(undefined)} />}
    </div>
  );
}

function Confirm({ job, verb, close }: { job: Job; verb: Verb; close: () => void }) {
  const { clients } = useApp();
  const [force, setForce] = useState(false);
  const [ranks, setRanks] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState('');
  const texts = TEXTS[verb];

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError('');
    const id = job.id;
    try {
      if (verb === 'delete') {
        await clients.jobs.delete({ id });
        notify('ok', `${jobTitle(job)} is deleted.`);
        go('#/jobs');
        return;
      }
      const call = {
        cancel: () => clients.jobs.cancel({ id, force }),
        pause: () => clients.jobs.pause({ id }),
        resume: () => clients.jobs.resume({ id, nproc: ranks === '' ? undefined : Number(ranks) }),
      }[verb];
      const answer = await call();
      notify('ok', `${jobTitle(job)} is ${stateName(answer.state).toLowerCase()}.`);
      close();
    } catch (e) {
      setError(errorText(e));
      setBusy(false);
    }
  };

  return (
    <Dialog title={texts.title} close={close}>
      <form onSubmit={submit}>
        <p>
          <b class="wrap">{jobTitle(job)}</b>
        </p>
        <p>{texts.text}</p>
        {verb === 'cancel' && (
          <label class="check-line">
            <input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} /> Kill it now, without saving
          </label>
        )}
        {verb === 'resume' && (
          <label class="check-line">
            Ranks{' '}
            <input type="number" min="1" class="short" placeholder="as before" value={ranks} onInput={(e) => setRanks(e.currentTarget.value)} />
          </label>
        )}
        <p class="error-text" role="alert">
          {error}
        </p>
        <div class="buttons">
          <button type="button" onClick={close}>
            Keep it as it is
          </button>
          <button type="submit" class={verb === 'resume' || verb === 'pause' ? 'primary' : 'danger'} disabled={busy}>
            {texts.button}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
