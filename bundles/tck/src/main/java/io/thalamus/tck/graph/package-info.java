// SPDX-License-Identifier: Apache-2.0
/**
 * Random graphs: made by seed over all operations that a device supports, run on it, and held
 * against the bounds of {@code io.thalamus.tck.reference}. A graph that fails is made small and
 * written down.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.graph;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
