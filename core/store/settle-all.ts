// Waits for several promises.

/** Like `Promise.all`, but rejects only when all have ended, so that nothing is left running on a connection. */
export async function settleAll<Results extends readonly unknown[]>(
  promises: Results,
): Promise<{ -readonly [Index in keyof Results]: Awaited<Results[Index]> }> {
  await Promise.allSettled(promises)
  return await Promise.all(promises)
}
