// SPDX-License-Identifier: Apache-2.0
/**
 * An oracle of its own: what NNAPI's operations compute, written from their definitions, in float64
 * and with bounds. It shares no code with any device nor with {@code io.thalamus.operations}.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.reference;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
