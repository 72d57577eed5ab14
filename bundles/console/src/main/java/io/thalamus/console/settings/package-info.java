// SPDX-License-Identifier: Apache-2.0
/** The settings that bundles declare by OSGi Metatype, and the values that they take. */
@Export
@Version("1.0.0")
package io.thalamus.console.settings;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
