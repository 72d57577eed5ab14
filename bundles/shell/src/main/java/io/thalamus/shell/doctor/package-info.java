// SPDX-License-Identifier: Apache-2.0
/** The examination of JVM, bundles, devices and storage. */
package io.thalamus.shell.doctor;
