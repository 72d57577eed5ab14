// SPDX-License-Identifier: Apache-2.0
/** The channel by which servers of all protocols listen, and stop to without losing a client. */
@Export
@Version("1.0.0")
package io.thalamus.http.listening;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
