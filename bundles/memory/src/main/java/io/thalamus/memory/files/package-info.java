// SPDX-License-Identifier: Apache-2.0
/**
 * Files that several threads, frameworks and processes share: digests of them, writes that are seen
 * whole, locks, and a log that repeats no trouble with them.
 */
@Export
@Version("1.0.0")
package io.thalamus.memory.files;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
