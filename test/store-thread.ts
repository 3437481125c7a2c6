// Each gateway starts a thread for its store. Those of tests load the build, which is one bundle instead of forty files.
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const source = new URL('../core/store/sqlite/worker.ts', import.meta.url).href
const build = new URL('../dist/worker.js', import.meta.url).href

// The global setup brings the build up to date, once: in watch mode, a change of the thread's code needs a new start.
if (!isMainThread) registerHooks({ resolve: (name, context, next) => next(name === source ? build : name, context) })
