// Adds to the error of a failed check the sentence that says what the author has to do.

/** Rejects with the error of `run`, whose message then begins with `advice`. */
export async function advise(advice: string, run: () => Promise<void> | void): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof Error) error.message = `${advice}\n${error.message}`
    throw error
  }
}
