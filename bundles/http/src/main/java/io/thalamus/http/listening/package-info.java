// SPDX-License-Identifier: Apache-2.0
/** How servers on Netty listen and stop to, so that no client is lost: for all protocols the same. */
@Export
@Version("1.0.0")
package io.thalamus.http.listening;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
