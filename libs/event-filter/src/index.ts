export { CelFilters } from './cel-filters.js';
export { checkFilter, checkSyntax } from './check-filter.js';
export type { FilterProblem } from './filter-problem.js';
