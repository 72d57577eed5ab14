// SPDX-License-Identifier: Apache-2.0
/** The API of applications: load a model, compile it for the devices at hand, execute it. */
@Export
@Version("1.0.0")
package io.thalamus.api;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
