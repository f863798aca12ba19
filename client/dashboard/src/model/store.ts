// A value that tells its readers when it is replaced.
export class Store<T> {
  #value: T;
  #readers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const reader of [...this.#readers]) reader();
  }

  subscribe(reader: () => void): () => void {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }
}
