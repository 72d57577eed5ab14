// SPDX-License-Identifier: Apache-2.0
/**
 * The kit as tests of JUnit: a subclass of {@link DeviceKit} for each device; vectors and models.
 */
@Export
@Version("1.0.0")
package io.thalamus.tck.junit;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
