import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { MetricColumnSchema } from '../gen/ddp/v1/metric_pb';
import { metricsCsv } from './csv';

it('writes every point so that it can be read back exactly', () => {
  const column = create(MetricColumnSchema, { series: 'a,"b"', step: [1n, 2n, 3n], time: [1.5, 2, 2.25], value: [0.1, NaN, -Infinity] });
  expect(metricsCsv([column])).toBe(
    'series,step,time,value\n"a,""b""",1,1.500000,0.1\n"a,""b""",2,2.000000,nan\n"a,""b""",3,2.250000,-inf\n',
  );
});
