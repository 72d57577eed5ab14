// SPDX-License-Identifier: Apache-2.0
/** Requests and memory that the parts of the kit share. */
package io.thalamus.tck.request;
