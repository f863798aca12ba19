import { expect, it } from 'vitest';
import { logText } from './log_lines';

const bytes = (text: string) => new TextEncoder().encode(text);

it('shows logs as text: markup stays as it is, orders for terminals go', () => {
  expect(logText(bytes('<script>x</script>'))).toBe('<script>x</script>');
  expect(logText(bytes('\x1b[31mred\x1b[0m \x1b]0;title\x07end\r'))).toBe('red end');
  expect(logText(bytes('a\tb'))).toBe('a\tb');
  expect(logText(new Uint8Array([0x61, 0xff]))).toBe('a\ufffd');
});
