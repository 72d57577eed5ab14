// SPDX-License-Identifier: Apache-2.0
/**
 * Long operations cut into tiles, which the caller of an execution and the threads of a device
 * compute together. For drivers that compute on processors.
 */
@Export
@Version("1.0.0")
package io.thalamus.driver.tiles;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
