// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

/** The kinds of message. Both ends are of one distribution, so that the order is the number. */
public enum MessageType {
  /** From the host, once: the properties and the facts of its device. */
  READY,
  /** The answer to a call. */
  REPLY,
  /** The answer to a call that failed: its status, what is wrong, and when to try again. */
  FAILURE,
  /** The page of calls, before all other calls. */
  CALL_PAGE,
  SUPPORTED_OPERATIONS,
  PREPARE,
  PREPARE_FROM_CACHE,
  ALLOCATE,
  COPY_TO,
  COPY_FROM,
  EXECUTE,
  EXECUTE_FENCED,
  CLOSE_MODEL,
  CLOSE_BUFFER,
  OPEN_BURST,
  CLOSE_BURST,
  FREE_BURST_MEMORY,
  /** From the host: which memories are in these slots of a burst. */
  BURST_MEMORIES,
  /** From the host: whether the client of a burst has the buffer of a token. */
  BURST_BUFFER,
  /** From the host: all handles of a cache file are closed. */
  CACHE_CLOSED,
  /** From the host: a compilation is not stored. */
  CACHE_ABANDONED
}
