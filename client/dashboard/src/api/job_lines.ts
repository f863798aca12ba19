// The lines of some series of one job: those of the daemon's newest answer, and the live batches after it.
import { appendPoints, cutAfter, emptyLine, lineOfBuckets, type AxisFacts, type Line } from '../model/line';
import { XAxis, type QueryMetricsResponse, type StreamMetricsResponse } from '../gen/ddp/v1/metric_pb';

export interface View {
  axis: XAxis;
  buckets: number;
  fromX?: number;
  toX?: number;
}

export interface Taken {
  changed: boolean;
  stale: boolean; // only the daemon can say what the lines are now
}

export class JobLines {
  lines = new Map<string, Line>();
  #series: readonly string[];
  #view: View = { axis: XAxis.STEP, buckets: 0 };
  #facts: AxisFacts = { axis: XAxis.STEP, stepsPerEpoch: 0, origin: 0 };
  #seq: bigint | undefined; // newest batch in the lines; undefined: no answer yet
  #attempt = 0; // of the newest batch; 0: not known

  constructor(series: readonly string[]) {
    this.#series = series;
  }

  answer(answer: QueryMetricsResponse, view: View, facts: AxisFacts): void {
    this.#view = view;
    this.#facts = facts;
    this.#seq = answer.seq;
    this.lines = new Map(answer.buckets.map((c) => [c.series, lineOfBuckets(c)]));
  }

  take(batch: StreamMetricsResponse): Taken {
    const taken = { changed: false, stale: false };
    if (this.#seq === undefined || batch.seq <= this.#seq) return taken;
    this.#seq = batch.seq;
    if (batch.attempt !== this.#attempt) {
      const cut = (line: Line) => cutAfter(line, Number(batch.attemptStartStep));
      // Whether the answer holds points that a first batch's attempt supersedes is the daemon's to say, once.
      if (this.#attempt === 0) taken.stale = [...this.lines.values()].some((line) => line.x.length > 0);
      else taken.stale = [...this.lines.values()].map(cut).includes(true);
      this.#attempt = batch.attempt;
      taken.changed = true;
    }
    if (this.#facts.axis === XAxis.RELATIVE_TIME && !Number.isFinite(this.#facts.origin)) return { ...taken, stale: true };
    for (const column of batch.columns) {
      if (!this.#series.includes(column.series)) continue;
      let line = this.lines.get(column.series);
      if (line === undefined) this.lines.set(column.series, (line = emptyLine()));
      appendPoints(line, column, this.#facts, this.#view.fromX, this.#view.toX);
      taken.changed = true;
      // More points than there are pixels: coarser buckets say the same.
      if (line.x.length > 2 * this.#view.buckets + 64) taken.stale = true;
    }
    return taken;
  }
}
