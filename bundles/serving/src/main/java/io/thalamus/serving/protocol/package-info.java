// SPDX-License-Identifier: Apache-2.0
/** The parts of a request that all protocols have: its memory, its place in regions, its texts. */
@Export
@Version("1.0.0")
package io.thalamus.serving.protocol;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
