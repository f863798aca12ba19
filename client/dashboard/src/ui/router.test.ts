import { expect, it } from 'vitest';
import { splitFragment } from '../api/token';
import { href, parseRoute } from './router';

it('reads and writes addresses', () => {
  const params = new URLSearchParams({ ids: 'a,b' });
  expect(href(['jobs', 'a/b', 'logs'], params)).toBe('#/jobs/a%2Fb/logs?ids=a%2Cb');
  const route = parseRoute('#/jobs/a%2Fb/logs?ids=a%2Cb');
  expect(route.path).toEqual(['jobs', 'a/b', 'logs']);
  expect(route.params.get('ids')).toBe('a,b');
  expect(parseRoute('').path).toEqual([]);
});
it('takes the token out of the address', () => {
  expect(splitFragment('#token=s3%2Bcret')).toEqual(['s3+cret', '#/']);
  expect(splitFragment('#token=abc&/jobs/j1?x=1')).toEqual(['abc', '#/jobs/j1?x=1']);
  expect(splitFragment('#/jobs')).toEqual(['', '#/jobs']);
});
