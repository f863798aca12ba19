// The charts of a job.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { errorText } from '../api/errors';
import type { JobMetrics } from '../api/job_metrics';
import { ChartControls } from '../charts/controls';
import { MetricChart } from '../charts/metric_chart';
import type { AxisMark, Range } from '../charts/plot';
import { loadChartOptions } from '../charts/use_options';
import type { Job } from '../gen/ddp/v1/job_pb';
import { PointType, XAxis } from '../gen/ddp/v1/metric_pb';
import { chartGroups, isSystemSeries, systemGroups } from '../model/chart_groups';
import { milliseconds } from '../model/format';
import { stepsPerEpoch } from '../model/job_view';
import { useStore } from '../ui/use_store';

export function MetricsTab({ job, metrics, system }: { job: Job; metrics: JobMetrics; system: boolean }) {
  const options = useStore(loadChartOptions());
  const fresh = useStore(metrics.newSeries);
  const [listed, setListed] = useState<readonly string[] | undefined>(undefined);
  const [error, setError] = useState('');
  const [range, setRange] = useState<Range | undefined>(undefined);
  const [filter, setFilter] = useState('');
  const [origin, setOrigin] = useState<number | undefined>(undefined);
  const started = job.attempts.length > 0 || job.spec?.workload.case === 'imported';

  useEffect(() => {
    let wanted = true;
    const list = async () => {
      try {
        const answer = await metrics.list();
        if (!wanted) return;
        setListed(answer.series.filter((s) => s.type === PointType.UNSPECIFIED || s.type === PointType.SCALAR).map((s) => s.series));
        setError('');
      } catch (e) {
        if (!wanted) return;
        setError(errorText(e));
        again = setTimeout(list, 2000);
      }
    };
    let again: ReturnType<typeof setTimeout> | undefined;
    void list();
    return () => {
      wanted = false;
      clearTimeout(again);
    };
  }, [metrics]);
  useEffect(() => {
    if (options.axis === XAxis.RELATIVE_TIME) metrics.origin().then(setOrigin, () => {});
  }, [options.axis, metrics]);

  const names = useMemo(() => [...new Set([...(listed ?? []), ...fresh])], [listed, fresh]);
  const groups = useMemo(
    () => (system ? systemGroups : chartGroups)(names.filter((name) => isSystemSeries(name) === system && name.toLowerCase().includes(filter.toLowerCase()))),
    [names, system, filter],
  );
  // A job that has no series yet still has to be followed, or the first one would never be heard of.
  useEffect(() => {
    if (listed?.length === 0 && started) {
      const source = metrics.source(['loss'], { axis: XAxis.STEP, buckets: 1 });
      return () => source.close();
    }
    return undefined;
  }, [listed?.length, started, metrics]);

  const marks = useMemo(() => attemptMarks(job, options.axis, origin), [job.attempts.length, options.axis, origin, stepsPerEpoch(job)]);
  return (
    <>
      <ChartControls options={options} range={range} setRange={setRange} filter={filter} setFilter={setFilter} />
      {error !== '' && <p class="error-text">{error}</p>}
      {listed !== undefined && groups.length === 0 && (
        <p class="empty">{filter !== '' ? 'No metric has such a name.' : system ? 'This job has no measurements of its machine.' : 'No points yet.'}</p>
      )}
      <div class="charts">
        {groups.map((group) => (
          <MetricChart key={group.series.join('\n')} job={metrics} group={group} options={options} range={range} marks={marks} onZoom={setRange} />
        ))}
      </div>
    </>
  );
}

// Where each attempt but the first went on.
function attemptMarks(job: Job, axis: XAxis, origin: number | undefined): AxisMark[] {
  const epoch = stepsPerEpoch(job);
  return job.attempts.slice(1).flatMap((attempt) => {
    const time = (milliseconds(attempt.firstStepTime ?? attempt.startTime) ?? NaN) / 1000;
    const x = {
      [XAxis.UNSPECIFIED]: Number(attempt.startStep),
      [XAxis.STEP]: Number(attempt.startStep),
      [XAxis.EPOCH]: Number(attempt.startStep) / epoch,
      [XAxis.WALL_TIME]: time,
      [XAxis.RELATIVE_TIME]: time - (origin ?? NaN),
    }[axis];
    return Number.isFinite(x) ? [{ x, label: `attempt ${attempt.number}` }] : [];
  });
}
