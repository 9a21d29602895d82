/** Statements of a test: run one after another in a session, the last one's rows as objects. */
import type { Environment } from '../adapter/environment.ts';
import { whole } from '../adapter/results.ts';
import type { Session } from '../adapter/session.ts';
import { expandedRows } from '../repr/rows.ts';
import type { Datum } from '../repr/types.ts';

export type TestRow = Readonly<Record<string, Datum>>;

/** A statement under way. */
export interface Started<Result = readonly TestRow[]> {
  readonly isDone: boolean;
  /** Waits for it, letting time pass. */
  result(): Promise<Result>;
  cancel(): void;
}

export async function runStatements(
  env: Environment,
  session: Session,
  sql: string,
): Promise<readonly TestRow[]> {
  let rows: readonly TestRow[] = [];
  for (const { statement } of session.running.inTurn(env.plans.parse(sql))) {
    try {
      const r = await whole(await session.execute(statement));
      if (r.kind === 'command') rows = [];
      else {
        const { columns } = r.desc;
        rows = Array.from(
          expandedRows(
            columns.map((c) => c.type),
            r.rows,
          ),
          (row) => Object.fromEntries(row.map((d, i) => [columns[i]!.name, d])),
        );
      }
    } catch (error) {
      session.fail();
      throw error;
    }
  }
  return rows;
}
