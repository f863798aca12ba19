// The heat map of a tensor as a table: where the middle half of its values lies at each step, the newest first.
import type { Histogram } from '../gen/ddp/v1/metric_pb';
import { formatCount, formatNumber } from '../model/format';
import { quantileOf } from '../model/heat_map';

export function HistogramTable({ name, histograms }: { name: string; histograms: readonly Histogram[] }) {
  return (
    <div class="as-table" role="region" aria-label={`${name} as a table`} tabIndex={0}>
      <table>
        <caption class="hidden-text">The newest first.</caption>
        <thead>
          <tr>
            <th class="number">Step</th>
            <th class="number">Least</th>
            <th class="number">25 %</th>
            <th class="number">Median</th>
            <th class="number">75 %</th>
            <th class="number">Greatest</th>
            <th class="number">Not finite</th>
          </tr>
        </thead>
        <tbody>
          {[...histograms].reverse().map((h) => (
            <tr key={String(h.step)}>
              <th scope="row" class="number">
                {formatCount(h.step)}
              </th>
              {[0, 0.25, 0.5, 0.75, 1].map((share) => (
                <td key={share} class="number">
                  {formatNumber(quantileOf(h, share))}
                </td>
              ))}
              <td class="number">{formatCount(h.nonFinite)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
