// Lets tasks share one process, which ends when no task is left.

interface ProcessDeps<Process> {
  start(): Process | Promise<Process>
  /** Resolves when the process is gone. */
  end(process: Process): Promise<void>
}

export interface SharedProcess<Process> {
  /**
   * Tasks run one after another. One that rejects in a process that others have used runs again in a new one, because
   * it may have failed for what they left there. After one that rejects then, the next gets a new process.
   */
  run<Result>(task: (process: Process) => Promise<Result>): Promise<Result>
  /** Ends the process and rejects all tasks. */
  close(): Promise<void>
}

export function shareProcess<Process>({ start, end }: ProcessDeps<Process>): SharedProcess<Process> {
  let last = Promise.resolve()
  let tasks = 0
  let process: Process | undefined
  let isClosed = false

  async function execute<Result>(task: (process: Process) => Promise<Result>): Promise<Result> {
    const wasUsed = process !== undefined
    if (!isClosed) process ??= await start()
    if (process === undefined || isClosed) throw new Error('The sandbox is closed.')
    try {
      return await task(process)
    } catch (error) {
      if (!wasUsed || isClosed) throw error
    }
    await endProcess()
    return await execute(task)
  }

  async function release(isUsable: boolean): Promise<void> {
    tasks--
    if (!isUsable || tasks === 0) await endProcess()
  }

  async function endProcess(): Promise<void> {
    const ending = process
    process = undefined
    if (ending !== undefined) await end(ending)
  }

  return {
    run(task) {
      tasks++
      const result = last.then(() => execute(task))
      last = result.then(
        () => release(true),
        () => release(false),
      )
      return result
    },
    async close() {
      isClosed = true
      await endProcess()
      await last
    },
  }
}
