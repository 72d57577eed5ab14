// SPDX-License-Identifier: Apache-2.0
/**
 * Compilation caching for drivers: all access to the files that they are given. {@link
 * io.thalamus.driver.cache.DeviceCache} is all that it needs: a driver turns a compilation into
 * bytes and back, and nothing else.
 */
@Export
@Version("1.0.0")
package io.thalamus.driver.cache;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
