import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '../gen/ddp/v1/job_pb';

// One sentence for people.
export function errorText(error: unknown): string {
  const e = ConnectError.from(error);
  if (e.code === Code.Unavailable || e.code === Code.Unknown) {
    if (/fetch|network|load failed/i.test(e.rawMessage)) return 'The daemon does not answer.';
  }
  return e.rawMessage === '' ? `The daemon answered ${Code[e.code]}.` : e.rawMessage;
}

export function isRefusedToken(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

// Violations by the field's path; empty for an error that has none.
export function violations(error: unknown): Map<string, string> {
  const found = new Map<string, string>();
  for (const v of ConnectError.from(error).findDetails(ErrorDetailSchema).flatMap((detail) => detail.violations)) {
    const before = found.get(v.field);
    found.set(v.field, before === undefined ? v.description : `${before}; ${v.description}`);
  }
  return found;
}
