// Exponential moving average without the pull towards zero at the beginning: s_n = d s_(n-1) + (1-d) x_n, shown as
// s_n / (1 - d^n). What is not finite is passed over and left out of the average; a constant stays itself.
export function debiasedEma(values: readonly number[], d: number): number[] {
  let sum = 0;
  let weight = 1; // d^n
  return values.map((value) => {
    if (!Number.isFinite(value)) return NaN;
    sum = d * sum + (1 - d) * value;
    weight *= d;
    return sum / (1 - weight);
  });
}
