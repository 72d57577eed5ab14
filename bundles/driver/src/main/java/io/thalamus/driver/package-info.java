// SPDX-License-Identifier: Apache-2.0
/**
 * An optional library for driver authors: a table of kernels becomes a device that validates,
 * prepares and executes models.
 */
@Export
@Version("1.0.0")
package io.thalamus.driver;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
