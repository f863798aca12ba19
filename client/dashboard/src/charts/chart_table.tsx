// What a chart draws as a table: for screen readers, and for those who want to read numbers.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { XAxis } from '../gen/ddp/v1/metric_pb';
import { axisName, bucketRows, type NamedLine } from '../model/bucket_rows';
import { formatCount } from '../model/format';
import type { Unit } from '../model/units';

// More rows than anybody reads would make every live point slow.
const MOST = 300;
// Rows that change under the eyes cannot be read.
const AGAIN_MS = 500;

interface TableProps {
  title: string;
  lines: readonly NamedLine[];
  version: number;
  axis: XAxis;
  unit: Unit;
}

export function ChartTable(props: TableProps) {
  const { title, axis, unit } = props;
  const lines = useCalm(props.lines, props.version);
  return useMemo(() => {
    const rows = bucketRows(lines, axis, unit, MOST);
    const all = lines.reduce((sum, { line }) => sum + line.x.length, 0);
    const several = lines.length > 1;
    return (
      <div class="as-table" role="region" aria-label={`${title} as a table`} tabIndex={0}>
        <table>
          <caption class="hidden-text">The newest first.</caption>
          <thead>
            <tr>
              <th class="number">{axisName(axis)}</th>
              {several && <th>Line</th>}
              <th class="number">Mean</th>
              <th class="number">Least</th>
              <th class="number">Greatest</th>
              <th class="number">Points</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}>
                <th scope="row" class="number">
                  {row.place}
                </th>
                {several && <td>{row.line}</td>}
                <td class="number">{row.mean}</td>
                <td class="number">{row.least}</td>
                <td class="number">{row.greatest}</td>
                <td class="number">{row.points}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {all > rows.length && (
          <p class="muted">
            The newest {formatCount(rows.length)} of {formatCount(all)} rows. Zoom in, or download the CSV, for the others.
          </p>
        )}
      </div>
    );
  }, [title, lines, axis, unit]);
}

// The lines as they were at most a moment ago: the same array until then.
function useCalm(lines: readonly NamedLine[], version: number): readonly NamedLine[] {
  const [calm, setCalm] = useState(lines);
  const newest = useRef(lines);
  newest.current = lines;
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    waiting.current ??= setTimeout(() => {
      waiting.current = undefined;
      setCalm([...newest.current]);
    }, AGAIN_MS);
  }, [version]);
  useEffect(() => () => clearTimeout(waiting.current), []);
  return calm;
}
