/** The entry: ties expressions and queries together. */
import { BindContext, type BindRules, type PlanOptions } from './context.ts';
import { bindExpr } from './expr.ts';
import { bindQuery } from './query.ts';

const RULES: BindRules = { expr: bindExpr, query: bindQuery };

export const newBinder = (options: PlanOptions): BindContext => new BindContext(options, RULES);
