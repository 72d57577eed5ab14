// SPDX-License-Identifier: Apache-2.0
/**
 * The caching engine, which drivers keep on the user's disk what must not be computed twice. Begin
 * at {@link io.thalamus.cache.CacheEngine}.
 *
 * <p>All of it stands below one directory, {@code STORAGE/cache-engine}, which any number of
 * processes share:
 *
 * <pre>
 * key                   32 random bytes, readable by the user alone; made by whoever comes first
 * NAME SPACE/lock       empty; who writes holds a file lock on it
 * NAME SPACE/tokens     what the files of each compilation hold
 * NAME SPACE/blobs/     one file for each blob
 * </pre>
 *
 * A name space is the symbolic name of a bundle. Every file carries a MAC under the key and appears
 * by a rename, so that a reader sees the old one or the new one, whole, whoever was killed
 * meanwhile. An entry that was damaged, or written under another key, counts as never written.
 */
@Export
@Version("1.0.0")
package io.thalamus.cache;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
