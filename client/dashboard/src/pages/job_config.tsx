// The complete spec, what was decided automatically, and what another job has differently.
import type { Job } from '../gen/ddp/v1/job_pb';
import { jobTitle, newestAttempt } from '../model/job_view';
import { SPEC_FIELDS, specDifferences, specValues } from '../model/spec_fields';
import { useApp } from '../ui/app';
import { go, href } from '../ui/router';
import { useStore } from '../ui/use_store';

export function ConfigTab({ job, params }: { job: Job; params: URLSearchParams }) {
  const { jobs } = useApp();
  const all = useStore(jobs.state).jobs;
  const other = all.get(params.get('other') ?? '');
  const values = specValues(job.spec);
  const others = specValues(other?.spec);
  const different = other ? specDifferences(values, others) : new Set<string>();
  const paths = SPEC_FIELDS.map((f) => f.path).filter((path) => values.has(path) || others.has(path));
  const facts = Object.entries(newestAttempt(job)?.facts ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const choose = (id: string) => go(href(['jobs', job.id, 'config'], id === '' ? undefined : new URLSearchParams({ other: id })), true);

  return (
    <>
      <div class="controls">
        <label>
          <span>Compare with</span>
          <select value={other?.id ?? ''} onChange={(e) => choose(e.currentTarget.value)}>
            <option value="">nothing</option>
            {[...all.values()]
              .filter((j) => j.id !== job.id)
              .map((j) => (
                <option key={j.id} value={j.id}>
                  {jobTitle(j)} ({j.id})
                </option>
              ))}
          </select>
        </label>
        {other && <span class="muted">{different.size === 0 ? 'Both are the same.' : `${different.size} differ`}</span>}
      </div>
      <div class="scroll">
        <table class="config">
          <thead>
            <tr>
              <th>Field</th>
              <th>{other ? jobTitle(job) : 'Value'}</th>
              {other && <th>{jobTitle(other)}</th>}
            </tr>
          </thead>
          <tbody>
            {paths.map((path) => (
              <tr key={path} class={different.has(path) ? 'different' : undefined}>
                <th class="mono" scope="row">
                  {path}
                </th>
                <td class="mono value">{values.get(path) ?? '–'}</td>
                {other && <td class="mono value">{others.get(path) ?? '–'}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {facts.length > 0 && (
        <>
          <h2 class="section">Decided automatically</h2>
          <div class="scroll">
            <table class="config">
              <tbody>
                {facts.map(([name, value]) => (
                  <tr key={name}>
                    <th class="mono" scope="row">
                      {name}
                    </th>
                    <td class="mono value">{value}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </>
  );
}
