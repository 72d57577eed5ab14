// SPDX-License-Identifier: Apache-2.0
/**
 * The driver interface: what a device implements, and the values it exchanges with the runtime.
 * Names are those of NN HAL 1.3 without the leading {@code I}.
 */
@Export
@Version("1.0.0")
package io.thalamus.hal;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
