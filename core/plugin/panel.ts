// The contract of a panel: a part of the control page that a channel, a toolset or a preset brings.

/**
 * A part of the control page. Its files run in a frame of their own, which reaches the gateway only through the page:
 * with the rights of the reader, for what the panel declares. The credential never gets into the frame.
 */
export interface Panel {
  /** Shown in the navigation of the page; at most 40 characters. */
  title: string
  /**
   * The folder with its files, such as `new URL('./panel/', import.meta.url)`. The page shows `index.html`. Everything
   * in the folder is public, so it must hold no secrets.
   */
  folder: URL
  /**
   * The routes that the panel may read, as in the OpenAPI document: `/api/runs`, `/runs/{id}`. A toolset's panel may
   * also call the tools of the toolset.
   */
  reads?: readonly string[]
}
