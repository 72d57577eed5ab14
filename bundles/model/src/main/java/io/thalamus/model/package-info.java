// SPDX-License-Identifier: Apache-2.0
/** The immutable nouns that both contracts speak: models, their parts, and small values. */
@Export
@Version("1.0.0")
package io.thalamus.model;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
