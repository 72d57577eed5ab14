// SPDX-License-Identifier: Apache-2.0
/** Readers of model files: a service for each file format. */
@Export
@Version("1.5.0")
package io.thalamus.model.reader;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
