export { refusedByFramework, type Failure } from './failure.js';
export { ProblemFilter, type ProblemFilterOptions } from './problem-filter.js';
export { PROBLEM_TYPES, problemTypeUri, type ProblemCode, type ProblemType } from './problem-types.js';
export { PROBLEM_MEDIA_TYPE, problemOf, type Problem } from './problem.js';
export { sendProblem } from './send-problem.js';
