// SPDX-License-Identifier: Apache-2.0
/**
 * Models as text that people read: {@link io.thalamus.json.JsonModel} writes it, and the bundle's
 * service reads it.
 */
@Export
@Version("1.0.0")
package io.thalamus.json;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
