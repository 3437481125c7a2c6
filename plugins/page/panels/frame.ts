// The module that a panel imports as `../../panel.js`. It runs in the frame, and asks the page to call the API.
export interface ReadOptions {
  /** The values of the placeholders in the route. */
  path?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
}

export interface InvokeOptions {
  /** The session for which the tool is called. Absent: the main session of the default agent. */
  sessionKey?: string
}

export interface PanelBridge {
  /** Reads a route that the panel declares, such as `/runs/{id}`. */
  read(route: string, options?: ReadOptions): Promise<unknown>
  /** Calls a tool of the toolset and returns its result. */
  invoke(tool: string, args?: object, options?: InvokeOptions): Promise<unknown>
  /** Shows another view of the page, such as `#/runs/4f2a`. */
  go(fragment: string): void
}

/** What the page answers to a message with an `id`. */
export interface Answer {
  id: number
  result?: unknown
  error?: { status: number; type: string; message: string }
}

/** A frame has no credential and may not connect to anything, so there is one way out: the page around it. */
export function connectPanel(): PanelBridge {
  const { origin } = new URL(import.meta.url)
  const calls = new Map<number, PromiseWithResolvers<unknown>>()
  let lastId = 0

  function ask(message: object): Promise<unknown> {
    if (parent === window) return Promise.reject(new Error('A panel works only inside the control page.'))
    const id = ++lastId
    const call = Promise.withResolvers<unknown>()
    calls.set(id, call)
    parent.postMessage({ id, ...message }, origin)
    return call.promise
  }

  function receive({ source, data }: MessageEvent<Answer & { theme?: string }>): void {
    if (source !== parent) return
    if (data.theme !== undefined) document.documentElement.dataset['theme'] = data.theme
    const call = calls.get(data.id)
    calls.delete(data.id)
    if (!data.error) return call?.resolve(data.result)
    const { message, ...rest } = data.error
    call?.reject(Object.assign(new Error(message), rest))
  }

  addEventListener('message', receive)
  // The page answers with its colors.
  if (parent !== window) parent.postMessage({ ready: true }, origin)
  return {
    read: (route, options = {}) => ask({ read: route, ...options }),
    invoke: (tool, args = {}, options = {}) => ask({ invoke: tool, args, ...options }),
    go: (fragment) => parent.postMessage({ go: fragment }, origin),
  }
}
