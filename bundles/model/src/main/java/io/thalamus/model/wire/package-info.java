// SPDX-License-Identifier: Apache-2.0
/** Values and graphs as bytes, for processes and caches that exchange them. */
@Export
@Version("1.0.0")
package io.thalamus.model.wire;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
