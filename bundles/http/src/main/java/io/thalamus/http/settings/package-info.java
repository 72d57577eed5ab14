// SPDX-License-Identifier: Apache-2.0
/**
 * The settings of servers that listen with Netty, what they mean for TLS, and who may do what: for
 * all protocols the same.
 */
@Export
@Version("1.0.0")
package io.thalamus.http.settings;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
