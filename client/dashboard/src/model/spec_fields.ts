// A JobSpec as paths and texts, by reflection: whatever spec.proto gains is there without a line here. Paths are those of
// `ddpctl submit --set` and of field violations: "training.data.source".
import { fromJson, ScalarType, type DescField, type DescMessage, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { JobSpecSchema, type JobSpec } from '../gen/ddp/v1/spec_pb';

export interface SpecField {
  path: string;
  kind: 'text' | 'number' | 'bool' | 'choice' | 'list' | 'map';
  choices: string[]; // of 'choice': lower-case names
}

const NEVER = new Set(['imported']);

function leaves(message: DescMessage, prefix: string): [SpecField, DescField][] {
  return message.fields.flatMap((field): [SpecField, DescField][] => {
    const path = prefix + field.name;
    if (NEVER.has(path)) return [];
    if (field.fieldKind === 'message') return leaves(field.message, `${path}.`);
    return [[{ path, kind: kindOf(field), choices: field.enum ? field.enum.values.slice(1).map((v) => choiceName(field, v.name)) : [] }, field]];
  });
}

function kindOf(field: DescField): SpecField['kind'] {
  if (field.fieldKind === 'list') return 'list';
  if (field.fieldKind === 'map') return 'map';
  if (field.fieldKind === 'enum') return 'choice';
  if (field.scalar === ScalarType.BOOL) return 'bool';
  return field.scalar === ScalarType.STRING ? 'text' : 'number';
}

// "SCHEDULE_KIND_STEP" is "step" for people.
function choiceName(field: DescField, name: string): string {
  return name.slice(field.enum!.sharedPrefix?.length ?? 0).toLowerCase();
}

const FIELDS = leaves(JobSpecSchema, '');
export const SPEC_FIELDS: readonly SpecField[] = FIELDS.map(([field]) => field);
const DESCRIPTORS = new Map(FIELDS.map(([field, descriptor]) => [field.path, descriptor]));

// What is set, by path. Lists and maps are one text with an entry per line.
export function specValues(spec: JobSpec | undefined): Map<string, string> {
  const values = new Map<string, string>();
  if (spec) collect(reflect(JobSpecSchema, spec), '', values);
  return values;
}

function collect(message: ReflectMessage, prefix: string, values: Map<string, string>): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const path = prefix + field.name;
    if (field.fieldKind === 'message') collect(message.get(field), `${path}.`, values);
    else if (field.fieldKind === 'list') values.set(path, [...message.get(field)].map(String).join('\n'));
    else if (field.fieldKind === 'map')
      values.set(path, [...message.get(field)].map(([key, value]) => `${String(key)}=${String(value)}`).sort().join('\n'));
    else if (field.fieldKind === 'enum') values.set(path, choiceName(field, field.enum.value[message.get(field)]?.name ?? ''));
    else values.set(path, String(message.get(field)));
  }
}

export interface ParsedSpec {
  spec: JobSpec;
  errors: Map<string, string>; // by path, of texts that are no values
}

// Empty texts are left to the daemon's defaults.
export function parseSpec(values: ReadonlyMap<string, string>): ParsedSpec {
  const errors = new Map<string, string>();
  let json: JsonObject = {};
  for (const [path, text] of values) {
    const field = DESCRIPTORS.get(path);
    if (!field || text.trim() === '') continue;
    const next = structuredClone(json);
    try {
      put(next, path.split('.'), toJson(field, text));
      fromJson(JobSpecSchema, next);
      json = next;
    } catch {
      errors.set(path, `“${text.trim()}” is no ${wanted(field)}`);
    }
  }
  return { spec: fromJson(JobSpecSchema, json), errors };
}

function wanted(field: DescField): string {
  if (field.fieldKind === 'map') return 'list of name=value lines';
  if (field.fieldKind === 'enum') return `one of ${field.enum.values.slice(1).map((v) => choiceName(field, v.name)).join(', ')}`;
  const real = field.scalar === ScalarType.DOUBLE || field.scalar === ScalarType.FLOAT;
  return real ? 'number' : 'whole number';
}

function toJson(field: DescField, text: string): JsonValue {
  const lines = text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  if (field.fieldKind === 'list') return lines.flatMap((line) => line.split(',')).map((part) => scalar(field.scalar!, part.trim()));
  if (field.fieldKind === 'map') {
    return Object.fromEntries(
      lines.map((line) => {
        const at = line.indexOf('=');
        if (at <= 0) throw new Error(line);
        return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
    );
  }
  if (field.fieldKind === 'enum') {
    const value = field.enum.values.find((v) => choiceName(field, v.name) === text.trim().toLowerCase());
    if (!value) throw new Error(text);
    return value.name;
  }
  return scalar(field.scalar!, text.trim());
}

function scalar(type: ScalarType, text: string): JsonValue {
  if (type === ScalarType.STRING) return text;
  if (type === ScalarType.BOOL) return text === 'true';
  // Whole numbers stay text, as JSON of 64 bits wants it.
  if (type !== ScalarType.DOUBLE && type !== ScalarType.FLOAT) return text;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function put(object: JsonObject, path: string[], value: JsonValue): void {
  const [name, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) object[name] = value;
  else put((object[name] ??= {}) as JsonObject, rest, value);
}

// Paths whose values differ between two specs, in the order of the contract.
export function specDifferences(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): Set<string> {
  return new Set(SPEC_FIELDS.map((f) => f.path).filter((path) => a.get(path) !== b.get(path)));
}
