// SPDX-License-Identifier: Apache-2.0
/**
 * Shared memory by the names that the NN HAL gives it, and flags in it by which threads and
 * processes wake each other. Its native calls are those of sleep.
 */
@Export
@Version("1.0.0")
package io.thalamus.memory;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
