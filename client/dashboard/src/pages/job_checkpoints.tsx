import { useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import { saveBlob } from '../charts/download';
import { WeightsFormat, type CheckpointCondition } from '../gen/ddp/v1/checkpoint_pb';
import type { Job } from '../gen/ddp/v1/job_pb';
import { formatBytes, formatCount, formatNumber, formatTime, milliseconds } from '../model/format';
import { useApp } from '../ui/app';
import { notify } from '../ui/notices';
import { useFresh } from '../ui/use_fresh';

export function CheckpointsTab({ job }: { job: Job }) {
  const { clients } = useApp();
  const [conditions, setConditions] = useState<ReadonlyMap<bigint, CheckpointCondition>>(new Map());
  const [busy, setBusy] = useState('');

  const ask = async () => [...(await clients.checkpoints.list({ jobId: job.id })).checkpoints].reverse();
  const { value: list, error } = useFresh(ask, `${job.checkpointStep} ${job.state}`);

  const verify = async () => {
    setBusy('Reading every byte…');
    try {
      const answer = await clients.checkpoints.verify({ jobId: job.id });
      setConditions(new Map(answer.conditions.map((c) => [c.step, c])));
    } catch (e) {
      notify('error', `Cannot verify: ${errorText(e)}`);
    }
    setBusy('');
  };
  const save = async (step: bigint, format: WeightsFormat) => {
    const pieces: Blob[] = [];
    let name = `${job.id}-${step}`;
    let [total, got] = [0, 0];
    try {
      for await (const { part } of clients.checkpoints.export({ jobId: job.id, checkpoint: String(step), format })) {
        if (part.case === 'header') {
          name = part.value.name;
          total = Number(part.value.bytes);
        } else if (part.case === 'piece') {
          // A blob each: the browser may keep them outside of memory.
          pieces.push(new Blob([part.value as Uint8Array<ArrayBuffer>]));
          got += part.value.length;
          setBusy(`${formatBytes(got)} of ${formatBytes(total)}`);
        }
      }
      if (got !== total) throw new Error(`${got} of ${total} bytes came`);
      saveBlob(name, new Blob(pieces));
    } catch (e) {
      notify('error', `Cannot download step ${step}: ${errorText(e)}`);
    }
    setBusy('');
  };

  if (list === undefined) return error !== '' ? <p class="empty error-text">{error}</p> : <p class="empty">Loading…</p>;
  if (list.length === 0) return <p class="empty">No checkpoint yet.</p>;
  return (
    <>
      <div class="controls">
        <button disabled={busy !== ''} onClick={() => void verify()}>
          Verify all
        </button>
        <span class="muted" role="status">
          {busy}
        </span>
        {error !== '' && <span class="error-text">{error}</span>}
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th class="number">Step</th>
              <th class="number">Epochs</th>
              <th class="number">Valid loss</th>
              <th class="number">Valid accuracy</th>
              <th class="number">Size</th>
              <th class="wide">Saved</th>
              <th>Bytes</th>
              <th>Download</th>
            </tr>
          </thead>
          <tbody>
            {list.map((c) => (
              <tr key={String(c.step)}>
                <td class="number">
                  {c.best && <span class="tag">best</span>} {formatCount(c.step)}
                </td>
                <td class="number">{c.epoch === undefined ? '–' : formatCount(c.epoch)}</td>
                <td class="number">{formatNumber(c.validLoss)}</td>
                <td class="number">{formatNumber(c.validAccuracy)}</td>
                <td class="number">{formatBytes(Number(c.bytes))}</td>
                <td class="wide">{formatTime(milliseconds(c.time))}</td>
                <td>
                  <Condition condition={conditions.get(c.step)} />
                </td>
                <td>
                  <button class="small" disabled={busy !== ''} onClick={() => void save(c.step, WeightsFormat.SAFETENSORS)}>
                    .safetensors
                  </button>{' '}
                  <button class="small" disabled={busy !== ''} onClick={() => void save(c.step, WeightsFormat.PT)}>
                    .pt
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Condition({ condition }: { condition: CheckpointCondition | undefined }) {
  if (!condition) return <span class="muted">not checked</span>;
  if (condition.damages.length === 0) return <span class="state good">✓ as saved</span>;
  const text = condition.damages.map((d) => `${d.path}: ${d.found} instead of ${d.expected}`).join('; ');
  return <span class="error-text">✕ {text}</span>;
}
