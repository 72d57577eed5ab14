// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

/** The states of a version, by Triton's names. */
public enum ModelState {
  /** It is read, compiled or warmed. */
  LOADING,
  /** It answers. */
  READY,
  /** It ends what runs, and takes nothing new. */
  UNLOADING,
  /** It does not answer; the reason is said. */
  UNAVAILABLE
}
