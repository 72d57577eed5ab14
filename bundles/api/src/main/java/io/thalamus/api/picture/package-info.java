// SPDX-License-Identifier: Apache-2.0
/**
 * Pictures as inputs: read, fitted to a model's input, normalized. It needs the JDK's module {@code
 * java.desktop}, which the rest of the API does without.
 */
@Export
@Version("1.0.0")
package io.thalamus.api.picture;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
