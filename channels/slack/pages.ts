// Reads the lists of Slack's Web API page by page.

interface Page {
  response_metadata?: { next_cursor?: string }
}

const pageSize = 200
/** No list is read further than this, so that a conversation of years ends. */
const mostPages = 25

/** @param read makes the call with `limit` and `cursor` */
export async function* pagesOf<Result extends Page>(
  read: (page: { limit: number; cursor?: string }) => Promise<Result>,
): AsyncGenerator<Result> {
  let cursor: string | undefined
  for (let count = 0; count < mostPages; count++) {
    const page = await read({ limit: pageSize, ...(cursor && { cursor }) })
    yield page
    cursor = page.response_metadata?.next_cursor
    if (!cursor) return
  }
}
