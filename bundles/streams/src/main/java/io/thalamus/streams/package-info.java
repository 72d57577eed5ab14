// SPDX-License-Identifier: Apache-2.0
/**
 * Bursts as push streams: elements go in as frames, are executed one after the other, and come out
 * as results.
 *
 * <pre>
 *   source's thread      thalamus-stream-1-0, -1, ...        downstream
 *     write  ----------- ring of frames ------ read  -------- accept
 *     frame n + 1        execute frame n       frame n - 1
 * </pre>
 */
@Export
@Version("1.0.0")
package io.thalamus.streams;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
