/** The variables of one session: set, reset, and put back where a transaction that set them fails. */
import { SqlError } from '../base/error.ts';
import { SETTINGS, type Setting, type SettingName } from '../catalog/settings.ts';

const TABLE: Readonly<Record<string, Setting>> = SETTINGS;

export class Settings {
  readonly #values = new Map<string, string>();
  /** What SET LOCAL and transactions must put back. */
  #saved: Map<string, string> | null = null;
  readonly #onChange: (reportedName: string, value: string) => void;

  constructor(onChange: (reportedName: string, value: string) => void) {
    this.#onChange = onChange;
  }

  get(name: SettingName): string {
    return this.lookup(name)!;
  }

  /** Undefined: there is no such variable. Names of extensions (with a dot) exist once they were set. */
  lookup(name: string): string | undefined {
    const key = name.toLowerCase();
    return this.#values.get(key) ?? TABLE[key]?.default;
  }

  list(name: SettingName): readonly string[] {
    return this.get(name)
      .split(',')
      .map((s) => s.trim().replace(/^"(.*)"$/, '$1'))
      .filter((s) => s !== '');
  }

  /** Undefined values: back to the default. */
  set(name: string, values: readonly string[] | undefined): void {
    const key = name.toLowerCase();
    const s = TABLE[key];
    if (s === undefined && !key.includes('.'))
      throw new SqlError('undefined_object', `unrecognized configuration parameter "${name}"`);
    if (s?.readOnly) throw new SqlError('invalid_parameter_value', `parameter "${name}" cannot be changed`);
    if (values === undefined) return this.#put(key, undefined);
    if (values.length !== 1 && s?.list !== true)
      throw new SqlError('invalid_parameter_value', `SET ${name} takes only one argument`);
    const value = values.join(', ');
    this.#put(key, s?.check?.(value) ?? value);
  }

  #put(key: string, value: string | undefined): void {
    if (this.#saved !== null && !this.#saved.has(key)) this.#saved.set(key, this.#values.get(key) ?? '\0');
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    const reported = TABLE[key]?.reported;
    if (reported !== undefined) this.#onChange(reported, this.lookup(key)!);
  }

  resetAll(): void {
    for (const key of [...this.#values.keys()]) this.#put(key, undefined);
  }

  /** A transaction begins: a rollback puts everything back. */
  begin(): void {
    this.#saved = new Map();
  }

  end(rollback: boolean): void {
    const saved = this.#saved;
    this.#saved = null;
    if (rollback && saved !== null) for (const [key, v] of saved) this.#put(key, v === '\0' ? undefined : v);
  }

  /** For SHOW ALL. */
  *all(): Iterable<readonly [name: string, value: string, doc: string]> {
    for (const [name, s] of Object.entries(TABLE)) yield [name, this.lookup(name)!, s.doc];
  }

  *reported(): Iterable<readonly [name: string, value: string]> {
    for (const [key, s] of Object.entries(TABLE))
      if (s.reported !== undefined) yield [s.reported, this.lookup(key)!];
  }
}
