/** The variables of one session: set, reset, and put back where a transaction that set them fails. */
import { SqlError, unsupported } from '../base/error.ts';
import { SETTINGS, type Setting, type SettingName } from '../catalog/settings.ts';

const TABLE: Readonly<Record<string, Setting>> = SETTINGS;

export interface SettingsWorld {
  /** What ALTER SYSTEM has set. */
  readonly catalog: { setting(name: string): string | undefined };
  readonly leadership: { readonly mayWrite: boolean };
}

export class Settings {
  readonly #values = new Map<string, string>();
  /** What a rollback puts back. */
  #saved: Map<string, string | undefined> | null = null;
  /** What the end of the transaction puts back, as SET LOCAL found it. */
  readonly #local = new Map<string, string | undefined>();
  readonly #onChange: (reportedName: string, value: string) => void;
  readonly #world: SettingsWorld | undefined;

  constructor(onChange: (reportedName: string, value: string) => void, world?: SettingsWorld) {
    this.#onChange = onChange;
    this.#world = world;
  }

  get(name: SettingName): string {
    return this.lookup(name)!;
  }

  /** Undefined: there is no such variable. Names of extensions (with a dot) exist once they were set. */
  lookup(name: string): string | undefined {
    const key = name.toLowerCase();
    return this.#values.get(key) ?? this.#world?.catalog.setting(key) ?? TABLE[key]?.default;
  }

  list(name: SettingName): readonly string[] {
    return this.get(name)
      .split(',')
      .map((s) => s.trim().replace(/^"(.*)"$/, '$1'))
      .filter((s) => s !== '');
  }

  /** Undefined values: back to the default. `local`: until the transaction ends. */
  set(name: string, values: readonly string[] | undefined, options: { readonly local?: boolean } = {}): void {
    const key = name.toLowerCase();
    const s = TABLE[key];
    if (s === undefined && !key.includes('.'))
      throw new SqlError('undefined_object', `unrecognized configuration parameter "${name}"`);
    const value = values === undefined ? undefined : canonical(name, s, values);
    if (s?.readOnly === true) {
      // Clients set what they rely on, whether it is so or not.
      if (value === undefined || value === s.default) return;
      throw new SqlError('invalid_parameter_value', `parameter "${name}" cannot be changed`);
    }
    if (s?.system === true)
      throw new SqlError('invalid_parameter_value', `parameter "${name}" is the same for all sessions`, {
        hint: `use ALTER SYSTEM SET ${key} = …`,
      });
    if (options.local !== true) this.#local.delete(key);
    else if (!this.#local.has(key)) this.#local.set(key, this.#values.get(key));
    this.#put(key, value);
  }

  /** Of the transaction where it says so, else the session's default for transactions. */
  effective(name: 'transaction_isolation' | 'transaction_read_only'): string {
    return this.#values.get(name) ?? this.get(`default_${name}`);
  }

  /** What SHOW says: of transactions what holds for this one. Clients find the process that writes by `transaction_read_only`. */
  shown(name: string): string | undefined {
    const key = name.toLowerCase();
    if (key === 'transaction_read_only' && this.#world?.leadership.mayWrite === false) return 'on';
    return key === 'transaction_read_only' || key === 'transaction_isolation'
      ? this.effective(key)
      : this.lookup(key);
  }

  #put(key: string, value: string | undefined): void {
    if (this.#saved !== null && !this.#saved.has(key)) this.#saved.set(key, this.#values.get(key));
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    const reported = TABLE[key]?.reported;
    if (reported !== undefined) this.#onChange(reported, this.lookup(key)!);
  }

  resetAll(): void {
    this.#local.clear();
    for (const key of [...this.#values.keys()]) this.#put(key, undefined);
  }

  begin(): void {
    this.#saved = new Map();
  }

  /** A transaction ends: what it set locally goes, and after a failure what it set at all. */
  end(rollback: boolean): void {
    const undo = rollback ? this.#saved : this.#local;
    this.#saved = null;
    for (const [key, v] of undo ?? []) this.#put(key, v);
    this.#local.clear();
  }

  /** For SHOW ALL. */
  *all(): Iterable<readonly [name: string, value: string, doc: string]> {
    for (const [name, s] of Object.entries(TABLE)) yield [name, this.shown(name)!, s.doc];
  }

  *reported(): Iterable<readonly [name: string, value: string]> {
    for (const [key, s] of Object.entries(TABLE))
      if (s.reported !== undefined) yield [s.reported, this.lookup(key)!];
  }
}

/** A value that ALTER SYSTEM gives. */
export function systemValue(name: string, values: readonly string[]): string {
  return canonical(name, systemSetting(name), values);
}

export function systemSetting(name: string): Setting {
  const s = TABLE[name];
  if (s === undefined)
    throw new SqlError('undefined_object', `unrecognized configuration parameter "${name}"`);
  if (s.system !== true)
    throw unsupported(`ALTER SYSTEM of parameter "${name}"`, { hint: `SET ${name} in the session` });
  return s;
}

function canonical(name: string, s: Setting | undefined, values: readonly string[]): string {
  if (values.length !== 1 && s?.list !== true)
    throw new SqlError('invalid_parameter_value', `SET ${name} takes only one argument`);
  const value = values.join(', ');
  return s?.check?.(value) ?? value;
}
